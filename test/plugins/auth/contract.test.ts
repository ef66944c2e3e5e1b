import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { authenticatorSuite, issuing } from '../../kit/index.js'
import { authority, temporaryFolder } from '../../kit/tls.js'

authenticatorSuite('auth/jwt', async (t) => {
  const issuer = await issuing(t)
  return {
    provider: issuer.url,
    audience: issuer.audience,
    entries: (issuerUrl) => [{ use: 'auth/jwt', with: { ...issuer.provider, issuerUrl } }],
    token: (claims) => issuer.jwt(claims),
  }
})

authenticatorSuite('auth/introspection', async (t) => {
  const issuer = await issuing(t)
  return {
    provider: issuer.url,
    audience: issuer.audience,
    entries: (issuerUrl) => [
      {
        use: 'auth/introspection',
        with: { ...issuer.provider, issuerUrl, introspectionUrl: `${issuerUrl}/introspect` },
      },
    ],
    token: (claims) => issuer.opaque(claims),
  }
})

authenticatorSuite('auth/oidc with a JWT', async (t) => {
  const issuer = await issuing(t)
  return {
    provider: issuer.url,
    audience: issuer.audience,
    entries: (issuerUrl) => [
      {
        use: 'auth/oidc',
        with: { ...issuer.provider, issuerUrl, introspectionUrl: `${issuerUrl}/introspect` },
      },
    ],
    token: (claims) => issuer.jwt(claims),
  }
})

authenticatorSuite('auth/oidc with an opaque token', async (t) => {
  const issuer = await issuing(t)
  return {
    provider: issuer.url,
    audience: issuer.audience,
    entries: (issuerUrl) => [
      {
        use: 'auth/oidc',
        with: { ...issuer.provider, issuerUrl, introspectionUrl: `${issuerUrl}/introspect` },
      },
    ],
    token: (claims) => issuer.opaque(claims),
  }
})

authenticatorSuite('auth/kubernetes', async (t) => {
  const issuer = await issuing(t)
  const { file: caCertPath } = authority(t)
  const authTokenFile = join(temporaryFolder(t), 'token')
  writeFileSync(authTokenFile, await issuer.jwt(), { mode: 0o600 })
  return {
    provider: issuer.url,
    audience: issuer.audience,
    entries: (issuerUrl) => [
      {
        use: 'auth/kubernetes',
        with: {
          name: 'cluster',
          audience: issuer.audience,
          issuerUrl,
          jwksUrl: `${issuerUrl}/jwks`,
          authTokenFile,
          caCertPath,
        },
      },
    ],
    token: (claims) => issuer.jwt(claims),
  }
})
