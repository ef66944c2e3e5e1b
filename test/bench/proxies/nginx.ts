import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '#kit/free-port.js'
import { startOnPort } from '../contestant.js'
import type { ProxyKind, Task } from '../task.js'

export const nginx: ProxyKind = {
  name: 'nginx',
  needs: { command: 'nginx', packages: 'nginx' },
  // The free nginx checks no tokens.
  can: ({ incoming, exchange }) => incoming === undefined && exchange !== true,
  async start(task, home) {
    const port = await freePort()
    const prefix = join(home, `nginx-${port}`)
    mkdirSync(prefix)
    writeFileSync(join(prefix, 'nginx.conf'), configuration(task, port))
    const argv = ['nginx', '-p', prefix, '-c', join(prefix, 'nginx.conf'), '-e', 'stderr']
    return startOnPort(this.name, port, argv)
  },
}

function configuration({ target, bearer, headers, tls }: Task, port: number): string {
  const out = { ...(bearer !== undefined && { Authorization: `Bearer ${bearer}` }), ...headers }
  const sent = Object.entries(out).map(([name, value]) => `proxy_set_header ${name} "${value}";`)
  const secure = tls === undefined ? '' : ` ssl; ssl_certificate ${tls.cert}; ssl_certificate_key ${tls.key}`
  // Started by root, its workers run as `nobody`, a user who may not enter the folder of this run.
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  return `daemon off;
${user}
worker_processes 1;
pid nginx.pid;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path bodies;
  proxy_temp_path answers;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  client_body_buffer_size 128k;
  client_max_body_size 0;
  proxy_buffers 8 16k;
  keepalive_requests 1000000000;
  upstream target {
    server 127.0.0.1:${target};
    keepalive 64;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port}${secure};
    location / {
      proxy_pass http://target;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      ${sent.join('\n      ')}
    }
  }
}
`
}
