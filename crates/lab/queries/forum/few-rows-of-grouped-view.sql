SELECT u.name, v.comments
FROM users u
LEFT JOIN (SELECT user_id, COUNT(*) AS comments FROM comments GROUP BY user_id) v ON v.user_id = u.id
WHERE u.id BETWEEN 100 AND 105;
