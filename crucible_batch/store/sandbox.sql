SET allowed_directories = $directories;
SET enable_external_access = false;
SET lock_configuration = true;
