import { definePlugin, LoginProvider } from 'sallyport'
import { scopeToken, webUrl } from 'sallyport/toolkit'
import { z } from 'zod'
import { clientOptions, openClient } from './flow/client.js'
import { CodeFlow } from './flow/code-flow.js'
import { accountsAt } from './flow/known-providers.js'
import { CodeFlowLogin, personOptions } from './flow/login.js'
import { checkProvider } from './flow/rules.js'

const options = z
  .strictObject({
    authorizeUrl: webUrl().describe(
      'the page where people sign in, such as `https://github.com/login/oauth/authorize`',
    ),
    tokenUrl: webUrl().describe(
      'where the code is redeemed, such as `https://github.com/login/oauth/access_token`',
    ),
    userUrl: webUrl().describe('the URL that describes the person, such as `https://api.github.com/user`'),
    ...clientOptions,
    clientAuthentication: z
      .enum(['basic', 'post'])
      .default('basic')
      .describe(
        'how the gateway sends its client ID and secret: in the header `Authorization`, or in the form',
      ),
    scopes: z.array(scopeToken()).default([]).describe('the scopes to request'),
    subject: z
      .string()
      .min(1)
      .optional()
      .describe(
        'the member of the answer of `userUrl` that names a person for good, `id` when unset: never a name that can change',
      ),
    ...personOptions,
  })
  .superRefine((settings, context) => {
    checkProvider(settings, ['authorizeUrl', 'tokenUrl', 'userUrl'], context)
    const at = settings.scopes.indexOf('openid')
    if (at === -1) return
    const message = 'asks for an ID token, which needs the keys of an issuer: use login/oidc with it'
    context.addIssue({ code: 'custom', path: ['scopes', at], message })
  })

export default definePlugin({
  name: 'login/oauth2',
  api: 1,
  summary:
    'Signs people in at a plain OAuth 2 provider such as GitHub, for the authorization server of the gateway.',
  provides: [LoginProvider],
  options,

  setup(gateway, settings) {
    const {
      authorizeUrl,
      tokenUrl,
      userUrl,
      clientId,
      scopes,
      subject = 'id',
      ask,
      authorizeParams,
      clientAuthentication,
    } = settings
    const { fetch, secret } = openClient(gateway, settings)
    const { origin, host } = new URL(authorizeUrl)
    const metadata = {
      issuer: origin,
      authorization_endpoint: authorizeUrl,
      token_endpoint: tokenUrl,
      token_endpoint_auth_methods_supported: [`client_secret_${clientAuthentication}`],
    }
    const flow = new CodeFlow({
      provider: origin,
      clientId,
      scopes,
      authorizeParams,
      fetch,
      secret,
      metadata: async () => metadata,
    })
    const login = new CodeFlowLogin({
      idp: settings.subject === undefined ? origin : `${origin}#${subject}`,
      name: host,
      ...accountsAt(authorizeUrl),
      flow,
      fetch,
      subject,
      ask,
      describedAt: async () => userUrl,
      log: gateway.log,
    })
    gateway.provide(LoginProvider, login)
  },
})
