// SPDX-License-Identifier: Apache-2.0
#include "config/users.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "base/words.h"

namespace gopmill {
namespace {

// Looks at every byte of `given`, whatever the first ones are.
bool Same(std::string_view secret, std::string_view given) {
  unsigned difference = secret.size() == given.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char own = secret.empty() ? '\0' : secret[i % secret.size()];
    difference |= static_cast<unsigned>(own ^ given[i]);
  }
  return difference == 0;
}

// By their number: what is mistyped may be a password.
Error Malformed(std::size_t number) {
  return InvalidArgument("auth.users", "User " + std::to_string(number) + " is not understood.",
                         "NAME:PASSWORD:ROLES or NAME:PASSWORD:ROLES:CLASS with the roles read, "
                         "publish or read+publish");
}

bool AreRoles(std::string_view text) {
  return text == "read" || text == "publish" || text == "read+publish";
}

// Takes what stands behind the last colon off `text`; nothing where there is none.
std::string_view TakeLast(std::string_view& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {};
  const std::string_view last = text.substr(colon + 1);
  text.remove_suffix(last.size() + 1);
  return last;
}

// A password may have colons, so all behind it is taken from the end.
Result<User> ParseOne(std::string_view text, std::size_t number) {
  std::string_view rest = text;
  std::string_view roles = TakeLast(rest), service_class;
  if (!AreRoles(roles)) {
    service_class = std::exchange(roles, TakeLast(rest));
    if (service_class.empty()) return Malformed(number);
  }
  const std::size_t colon = rest.find(':');
  if (!AreRoles(roles) || colon == std::string_view::npos || colon == 0 ||
      colon + 1 == rest.size() ||
      std::ranges::any_of(text, &IsControlByte)) {  // nobody can log in with one
    return Malformed(number);
  }
  return User{.name = std::string(rest.substr(0, colon)),
              .password = std::string(rest.substr(colon + 1)),
              .reads = roles != "publish",
              .publishes = roles != "read",
              .service_class = std::string(service_class)};
}

}  // namespace

Result<Users> Users::Parse(std::string_view text) {
  Users users;
  for (const std::string_view one : Words(text)) {
    GOPMILL_ASSIGN_OR_RETURN(User user, ParseOne(one, users.users_.size() + 1));
    if (std::ranges::find(users.users_, user.name, &User::name) != users.users_.end()) {
      return InvalidArgument("auth.users", "Two users are called " + user.name + ".");
    }
    const auto same = std::ranges::find(users.users_, user.password, &User::password);
    if (same != users.users_.end()) {
      return InvalidArgument("auth.users",
                             same->name + " and " + user.name + " have the same password.",
                             "one for each: a password alone, as a token, says who it is");
    }
    users.users_.push_back(std::move(user));
  }
  return users;
}

const User* Users::Find(std::string_view name, std::string_view password) const {
  const User* found = nullptr;
  for (const User& user : users_) {
    const bool name_fits = Same(user.name, name);
    const bool password_fits = Same(user.password, password);
    if (name_fits && password_fits) found = &user;
  }
  return found;
}

const User* Users::FindToken(std::string_view token) const {
  const User* found = nullptr;
  for (const User& user : users_) {
    if (Same(user.password, token)) found = &user;
  }
  return found;
}

}  // namespace gopmill
