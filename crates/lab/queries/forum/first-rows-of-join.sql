SELECT c.id, c.stars, u.name FROM comments c JOIN users u ON u.id = c.user_id ORDER BY c.id LIMIT 10;
