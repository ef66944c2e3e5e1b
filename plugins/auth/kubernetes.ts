import { readFileSync } from 'node:fs'
import { definePlugin } from 'sallyport'
import { z } from 'zod'
import { readJwt } from './provider/jwt.js'
import {
  checkTogether,
  egressFields,
  introspectionFields,
  keyFields,
  tokenFields,
} from './provider/options.js'
import { examine, omits, provided, setUpProvider } from './provider/set-up.js'

// Kubernetes mounts the service account token and the CA of the cluster here in every pod.
const MOUNTED = '/var/run/secrets/kubernetes.io/serviceaccount'
const API_SERVER = 'https://kubernetes.default.svc'

const { caCertPath, authTokenFile } = egressFields

export default definePlugin({
  name: 'auth/kubernetes',
  api: 1,
  summary: 'Accepts service account tokens of the cluster that the gateway runs in.',
  provides: provided,
  omits,
  options: z
    .strictObject({
      ...tokenFields,
      name: tokenFields.name.default('kubernetes'),
      issuerUrl: tokenFields.issuerUrl
        .optional()
        .describe('the issuer of the cluster; read from the token in `authTokenFile` when unset'),
      ...keyFields,
      jwksUrl: keyFields.jwksUrl
        .unwrap()
        .default(`${API_SERVER}/openid/v1/jwks`)
        .describe('the keys of the cluster'),
      ...introspectionFields,
      caCertPath: caCertPath.unwrap().default(`${MOUNTED}/ca.crt`).describe('the CA of the cluster'),
      authTokenFile: authTokenFile.unwrap().default(`${MOUNTED}/token`).describe("the pod's own token"),
      allowPrivateIP: z.boolean().default(true).describe('the API server is at a private address'),
    })
    .superRefine(checkTogether),
  examine,

  setup(gateway, options) {
    const issuerUrl =
      options.issuerUrl ?? issuerOf(gateway.path(options.authTokenFile)) ?? `${API_SERVER}.cluster.local`
    setUpProvider(gateway, { common: { ...options, issuerUrl }, keys: options, introspection: options })
  },
})

/** Each cluster has its own issuer, and the mounted token names it. `checkFiles` reports a file that cannot be read. */
function issuerOf(tokenFile: string): string | undefined {
  try {
    const issuer = readJwt(readFileSync(tokenFile, 'utf8').trim())?.claims['iss']
    return typeof issuer === 'string' ? issuer : undefined
  } catch {
    return undefined
  }
}
