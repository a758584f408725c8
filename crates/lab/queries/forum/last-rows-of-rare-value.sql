SELECT c.id, c.stars, u.name
FROM comments c
JOIN users u ON u.id = c.user_id
WHERE u.status = 's17'
ORDER BY c.id DESC
LIMIT 10;
