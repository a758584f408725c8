SELECT COUNT(*), SUM(c.stars) FROM users u JOIN comments c ON c.user_id = u.id WHERE u.status = 's17';
