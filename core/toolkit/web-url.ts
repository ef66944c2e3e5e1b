import { z } from 'zod'

const isWebUrl = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text)

/** An option that is an http or https URL, kept as it was written. */
export const webUrl = (): z.ZodString => z.string().refine(isWebUrl, 'expected an http or https URL')

/** An option that is the URL of a target: its path is where requests go, with its query before their own. */
export const targetUrl = (): z.ZodURL =>
  z
    .url({ protocol: /^https?$/, error: 'expected a URL of http or https' })
    .refine((url) => !url.includes('#'), 'expected a URL without fragment')
    .refine((url) => {
      // What is no URL is told by then, and no reason to leave other options unchecked.
      if (!URL.canParse(url)) return true
      const { username, password } = new URL(url)
      return username === '' && password === ''
    }, 'expected a URL without user and password: credentials have options of their own')
