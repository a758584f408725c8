SELECT COUNT(*), SUM(c.stars) FROM posts p JOIN comments c ON c.post_id = p.id WHERE p.link LIKE 'https://site17.%';
