import { definePlugin, IssuerMetadata, LoginProvider } from 'sallyport'
import { issuerUrl, scopeToken } from 'sallyport/toolkit'
import { z } from 'zod'
import { clientOptions, openClient } from './flow/client.js'
import { CodeFlow, discovered } from './flow/code-flow.js'
import { accountsAt, isGoogle } from './flow/known-providers.js'
import { CodeFlowLogin, personOptions } from './flow/login.js'
import { checkProvider } from './flow/rules.js'

const options = z
  .strictObject({
    issuerUrl: issuerUrl().describe('the issuer where people sign in; its endpoints are found by discovery'),
    ...clientOptions,
    scopes: z
      .array(scopeToken())
      .default(['openid', 'profile', 'email'])
      .describe('the scopes to request; with `offline_access` many issuers give a refresh token'),
    subject: z
      .string()
      .min(1)
      .optional()
      .describe('the claim that names a person for good, `sub` when unset; `oid` at Entra ID'),
    ...personOptions,
  })
  .superRefine((settings, context) => {
    checkProvider(settings, ['issuerUrl'], context)
    if (!settings.scopes.includes('openid'))
      context.addIssue({
        code: 'custom',
        path: ['scopes'],
        message: 'expected `openid` among them: use login/oauth2 without it',
      })
    if (URL.canParse(settings.issuerUrl) && isGoogle(settings.issuerUrl) && settings.scopes.includes(OFFLINE))
      context.addIssue({
        code: 'custom',
        path: ['scopes', settings.scopes.indexOf(OFFLINE)],
        message: 'is unknown to Google, which gives a refresh token without it: take it out',
      })
  })

const OFFLINE = 'offline_access'
// Google gives a refresh token for these parameters instead.
const GOOGLE = { access_type: 'offline', prompt: 'consent' }

export default definePlugin({
  name: 'login/oidc',
  api: 1,
  summary: 'Signs people in at an OpenID Connect issuer, for the authorization server of the gateway.',
  provides: [LoginProvider],
  requires: [IssuerMetadata],
  options,

  setup(gateway, settings) {
    const { issuerUrl: issuer, clientId, scopes, subject = 'sub', ask, authorizeParams } = settings
    const { fetch, secret } = openClient(gateway, settings)
    const plugins = gateway.use(IssuerMetadata)
    const flow = new CodeFlow({
      provider: issuer,
      clientId,
      scopes,
      authorizeParams: { ...(isGoogle(issuer) && GOOGLE), ...authorizeParams },
      fetch,
      secret,
      metadata: () => discovered(issuer, fetch, plugins()),
    })
    const login = new CodeFlowLogin({
      idp: settings.subject === undefined ? issuer : `${issuer}#${subject}`,
      name: new URL(issuer).host,
      ...accountsAt(issuer),
      flow,
      fetch,
      subject,
      ask,
      describedAt: () => flow.userinfoEndpoint(),
      log: gateway.log,
    })
    gateway.provide(LoginProvider, login)
  },

  async examine(examination, settings) {
    const { examineIssuer } = await import('./flow/examine.js')
    await examineIssuer(examination, settings)
  },
})
