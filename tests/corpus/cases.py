# SPDX-License-Identifier: Apache-2.0
"""All cases, in a fixed order: a case's number picks its container and its second policy."""

import cases_codecs  # noqa: F401
import cases_damage  # noqa: F401
import cases_pictures  # noqa: F401
import cases_quality  # noqa: F401
import cases_sound  # noqa: F401
import cases_times  # noqa: F401
from case import CASES  # noqa: F401
