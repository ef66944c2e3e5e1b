import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '#kit/free-port.js'
import { startOnPort } from '../contestant.js'
import type { Incoming, ProxyKind, Task } from '../task.js'

const MODULES = '/usr/lib/apache2/modules'

export const apache: ProxyKind = {
  name: 'Apache',
  needs: {
    command: 'apache2',
    file: `${MODULES}/mod_oauth2.so`,
    packages: 'apache2 libapache2-mod-oauth2',
  },
  can: ({ exchange, tls }) => exchange !== true && tls === undefined,
  async start(task, home) {
    const port = await freePort()
    const prefix = join(home, `apache-${port}`)
    mkdirSync(prefix)
    writeFileSync(join(prefix, 'apache2.conf'), configuration(task, port, prefix))
    const argv = ['apache2', '-d', prefix, '-f', join(prefix, 'apache2.conf'), '-DFOREGROUND']
    return startOnPort(this.name, port, argv)
  },
}

function configuration({ target, incoming, bearer, headers }: Task, port: number, prefix: string): string {
  const modules = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'headers', 'proxy', 'proxy_http']
  const load = [...modules, ...(incoming === undefined ? [] : ['oauth2'])].map(
    (name) => `LoadModule ${name === 'mpm_event' ? 'mpm_event' : name}_module ${MODULES}/mod_${name}.so`,
  )
  const out = { ...(bearer !== undefined && { Authorization: `Bearer ${bearer}` }), ...headers }
  // Apache refuses to serve as root.
  const user = process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : ''
  return `ServerRoot ${prefix}
ServerName localhost
${user}
${load.join('\n')}
PidFile ${prefix}/apache2.pid
ErrorLog ${prefix}/error.log
LogLevel error
Listen 127.0.0.1:${port}
ServerLimit 1
StartServers 1
ThreadsPerChild 64
ThreadLimit 64
MaxRequestWorkers 64
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 60
ProxyPass / http://127.0.0.1:${target}/ enablereuse=on keepalive=on max=64 ttl=60
<Location />
${incoming === undefined ? '  Require all granted' : checked(incoming)}
</Location>
${Object.entries(out)
  .map(([name, value]) => `RequestHeader set ${name} "${value}"`)
  .join('\n')}
`
}

function checked(incoming: Incoming): string {
  const { issuer } = incoming
  const verify =
    incoming.kind === 'jwt'
      ? `jwks_uri ${issuer.origin}/jwks "verify.iss=skip&verify.exp=required&expiry=300"`
      : `introspect ${issuer.introspectionUrl} "introspect.auth=client_secret_basic&client_id=bench&client_secret=bench&expiry=300"`
  return `  AuthType oauth2
  OAuth2TokenVerify ${verify}
  <RequireAll>
    Require oauth2_claim iss:${issuer.url}
    Require oauth2_claim aud:${issuer.audience}
  </RequireAll>`
}
