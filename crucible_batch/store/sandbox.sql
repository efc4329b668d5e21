-- The same order and the same times as in a plain shell, wherever the machine stands.
SET default_null_order = 'nulls_last';
SET TimeZone = 'UTC';
SET allowed_directories = $directories;
SET enable_external_access = false;
SET lock_configuration = true;
