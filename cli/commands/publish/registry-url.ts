/** The API of a registry, by any of the forms in which its URL is known; a sentence about what is none of them. */
export function apiUrlOf(written: string): { readonly url: URL } | { readonly message: string } {
  const expected = 'expected the URL of a registry, such as https://registry.example.com/registry/default'
  if (/[?#]/.test(written)) return { message: `${expected}, without query and fragment` }
  const url = new URL(written)
  if (url.username !== '' || url.password !== '')
    return { message: `${expected}, without user and password: --token-file takes a token` }
  url.pathname = `${url.pathname.replace(/\/+$/, '').replace(/\/v0(?:\.1)?$/, '')}/v0.1`
  return { url }
}
