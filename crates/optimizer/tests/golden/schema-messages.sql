create table message(
  id int primary key,
  folder int not null,
  sender int,
  sent date not null,
  msg_type varchar(40),
  subject varchar(100) not null,
  size int,
  key i_folder_sent(folder,sent),
  key i_sender(sender),
  key i_type(msg_type(5)),
  key i_subject(subject),
  key i_sent(sent desc,size)
);
create table note(
  message int not null,
  words varchar(100),
  key i_message(message)
);
create table job(
  id int primary key,
  state char(1) not null,
  kind varchar(40) not null,
  t2send int not null,
  payload varchar(200) not null,
  key i_state(state),
  key i_kind_t2send(kind(5),t2send)
);
