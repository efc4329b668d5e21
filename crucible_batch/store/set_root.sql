SET VARIABLE crucible_root = $root;
