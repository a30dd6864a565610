// SPDX-License-Identifier: Apache-2.0
//
// Who may use the server: the setting auth.users. Without users everybody may do everything.
//
// Secrets are compared in a time that does not depend on where they differ.
//
// Thread-safety: safe (immutable).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace gopmill {

enum class Role {
  kRead,     // play, and see what there is
  kPublish,  // publish live sources, stop streams
};

struct User {
  std::string name, password;
  bool reads = false, publishes = false;
  std::string service_class;  // of all that is made for this user; empty: as each request says

  [[nodiscard]] bool Has(Role role) const { return role == Role::kRead ? reads : publishes; }
};

class Users {
 public:
  Users() = default;
  // "alice:secret:read+publish bob:word:read:bulk", blanks between them; what stands behind the
  // roles is the service class. A password has no blank. Names of classes are not checked here.
  static Result<Users> Parse(std::string_view text);

  [[nodiscard]] bool empty() const { return users_.empty(); }
  [[nodiscard]] const std::vector<User>& all() const { return users_; }
  // Null if name and password are not those of a user.
  [[nodiscard]] const User* Find(std::string_view name, std::string_view password) const;
  // By the password alone: a token.
  [[nodiscard]] const User* FindToken(std::string_view token) const;

 private:
  std::vector<User> users_;
};

}  // namespace gopmill
