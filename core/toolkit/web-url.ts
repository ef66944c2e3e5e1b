import { z } from 'zod'

// Both stop at a text that is no URL: checks that follow parse it.
const isWebUrl = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text)

/** An option that is an http or https URL, kept as it was written. */
export const webUrl = (): z.ZodString =>
  z.string().refine(isWebUrl, { error: 'expected an http or https URL', abort: true })

/** An option that is the URL of a target: its path is where requests go, and nothing else of it is sent. */
export const targetUrl = (): z.ZodURL =>
  z
    .url({ protocol: /^https?$/, error: 'expected a URL of http or https', abort: true })
    .refine((url) => !/[?#]/.test(url), 'expected a URL without query and fragment')
    .refine((url) => {
      const { username, password } = new URL(url)
      return username === '' && password === ''
    }, 'expected a URL without user and password: credentials have options of their own')
