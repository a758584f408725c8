SELECT COUNT(*), SUM(c.stars)
FROM users u
JOIN comments c ON c.user_id = u.id
WHERE u.city = 71 AND u.postcode BETWEEN 710 AND 719;
