update message set subject = 'x' where folder = 3 and sent > '2026-01-01' order by sent limit 10
