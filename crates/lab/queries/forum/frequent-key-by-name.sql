SELECT COUNT(*), SUM(c.stars)
FROM categories g
JOIN posts p ON p.category = g.id
JOIN comments c ON c.post_id = p.id
WHERE g.name = 'Everything';
