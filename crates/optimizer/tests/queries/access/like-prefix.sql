select id from message where subject like 'Re: minutes%';
