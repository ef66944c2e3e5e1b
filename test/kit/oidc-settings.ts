/** The settings of a proxy that accepts tokens of this issuer. */
export const oidcSettings = ({ url, audience }: { readonly url: string; readonly audience: string }) => ({
  oidcIssuer: url,
  oidcAudience: audience,
  oidcAllowPrivateIp: true,
})
