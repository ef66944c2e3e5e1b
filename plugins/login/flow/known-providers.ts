import type { LoginProvider } from 'sallyport'

type Accounts = Pick<LoginProvider, 'accountsOf' | 'requiredClaim'>

// Every person in the world can make an account, or an organisation, at each of these.
const PUBLIC_HOSTS: ReadonlySet<string> = new Set([
  'accounts.google.com',
  'appleid.apple.com',
  'auth.atlassian.com',
  'bitbucket.org',
  'discord.com',
  'github.com',
  'gitlab.com',
  'huggingface.co',
  'login.live.com',
  'login.salesforce.com',
  'slack.com',
  'www.amazon.com',
  'www.facebook.com',
  'www.linkedin.com',
])

// Its hosts, with those by which it answers too, and the issuer of its first version.
const ENTRA: ReadonlySet<string> = new Set([
  'login.microsoftonline.com',
  'login.microsoftonline.us',
  'login.partner.microsoftonline.cn',
  'login.microsoft.com',
  'login.windows.net',
  'sts.windows.net',
])

// The last one is the tenant of all personal accounts.
const SHARED_TENANTS: ReadonlySet<string> = new Set([
  'common',
  'organizations',
  'consumers',
  '9188040d-6c67-4c5b-b112-36a304b66dad',
])

export const isGoogle = (url: string): boolean => new URL(url).hostname === 'accounts.google.com'

export const isEntra = (url: string): boolean => ENTRA.has(new URL(url).hostname)

/** Whose accounts the provider at this URL has, as far as it is known. */
export function accountsAt(url: string): Accounts {
  const { hostname, pathname } = new URL(url)
  if (PUBLIC_HOSTS.has(hostname)) return { accountsOf: 'everybody' }
  const isShared = isEntra(url) && SHARED_TENANTS.has(/[^/]+/.exec(pathname)?.[0].toLowerCase() ?? '')
  // The administrator of any tenant can set every other claim, such as an e-mail address.
  return isShared ? { accountsOf: 'everybody', requiredClaim: 'tid' } : { accountsOf: 'organisation' }
}
