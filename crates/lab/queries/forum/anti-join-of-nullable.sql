SELECT COUNT(*), MAX(c.id)
FROM posts p
LEFT JOIN categories g ON g.id = p.category
JOIN comments c ON c.post_id = p.id
WHERE g.id IS NULL;
