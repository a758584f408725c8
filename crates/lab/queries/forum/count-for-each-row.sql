SELECT p.*, (SELECT COUNT(*) FROM comments c WHERE c.post_id = p.id) AS comments FROM posts p WHERE p.author = 7;
