SELECT COUNT(*), MAX(p.created) FROM users u JOIN posts p ON p.author = u.id WHERE u.badge <> 3;
