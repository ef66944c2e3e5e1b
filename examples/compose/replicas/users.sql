create role sallyport_owner login password 'change-me';
create role sallyport login password 'change-me';
create schema sallyport authorization sallyport_owner;
grant usage on schema sallyport to sallyport;
alter default privileges for role sallyport_owner in schema sallyport
  grant select, insert, update, delete on tables to sallyport;
