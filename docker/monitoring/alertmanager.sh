#!/bin/sh
# Writes Alertmanager's configuration from the settings of mail, since it reads no variables itself, and becomes the given program.
set -eu
umask 077
file=${TMPDIR:-/tmp}/alertmanager.yml

refuse() {
  echo "$1" >&2
  exit 2
}
quoted() { printf "'%s'" "$(printf %s "$1" | sed "s/'/''/g")"; }
decoded() {
  rest=$1 text=
  while case $rest in *%??*) ;; *) false ;; esac; do
    text=$text${rest%%\%*} rest=${rest#*%}
    text=$text$(printf "\\$(printf %03o "0x${rest%"${rest#??}"}")") rest=${rest#??}
  done
  printf %s "$text$rest"
}

login= scheme=smtps
if [ -n "${RESEND_API_KEY:-}" ]; then
  host=smtp.resend.com:465 login=resend:$RESEND_API_KEY
elif [ -n "${SMTP_URL:-}" ]; then
  scheme=${SMTP_URL%%://*} host=${SMTP_URL#*://} host=${host%/}
  case $host in *@*) login=${host%@*} host=${host##*@} ;; esac
  case $host in
  \[*\]:* | [!\[]*:*) ;;
  *) [ "$scheme" = smtps ] && host=$host:465 || host=$host:587 ;;
  esac
fi
to=${OPERATORS:-${ACME_EMAIL:-}}

mail=
if [ -z "${host:-}" ]; then
  echo "RESEND_API_KEY and SMTP_URL are empty: alerts show on port 9093 alone."
elif [ -z "$to" ] || [ -z "${ALERT_FROM:-}" ]; then
  refuse "Mails of alerts need ALERT_FROM, and OPERATORS or ACME_EMAIL."
elif [ "$scheme" = smtps ] && [ "${host##*:}" != 465 ]; then
  refuse "SMTP_URL: Alertmanager speaks TLS from the first byte at port 465 alone; use that, or smtp:// with STARTTLS."
else
  # At port 465 TLS is there before, and on this machine there is no need.
  tls=true
  case $host in *:465 | localhost:* | 127.*:* | \[::1\]:*) tls=false ;; esac
  mail="
      - to: $(quoted "$to")
        from: $(quoted "$ALERT_FROM")
        smarthost: $(quoted "$host")
        auth_username: $(quoted "$(decoded "${login%%:*}")")
        auth_password: $(quoted "$(decoded "${login#*:}")")
        require_tls: $tls
        send_resolved: true"
fi

cat >"$file" <<END
route:
  receiver: operators
  group_by: [alertname]
  group_wait: 30s
  repeat_interval: 24h
  routes:
    - matchers: ['severity="page"']
      repeat_interval: 1h
receivers:
  - name: operators
    email_configs:${mail:- []}
END
exec "$@" --config.file="$file"
