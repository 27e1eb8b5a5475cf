#!/bin/bash
# healthy PORT: whether the app's port for operators answers /health with 200. A shell, since a Node process each ten
# seconds costs more than the app does when it is idle. That port is not in the access log.
exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
printf 'GET /health HTTP/1.0\r\n\r\n' >&3
read -r -t 4 _ status _ <&3
[ "$status" = 200 ]
