/** What may be shown and logged of an error code that somebody else sent. */
export const plainCode = (code: string): string => code.replaceAll(/[^\w.-]/g, '').slice(0, 60)

/** The same of any other text. */
export const plainText = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, ' ').slice(0, 300)

/** The same without what may be a token or a code, which is longer than a word. Before it is cut: an end of one is shorter. */
export const plainWords = (text: string): string => plainText(text.replaceAll(/\S{20,}/g, '...'))
