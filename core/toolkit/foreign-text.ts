/** What may be shown and logged of an error code that somebody else sent. */
export const plainCode = (code: string): string => code.replaceAll(/[^\w.-]/g, '').slice(0, 60)

/** The same of any other text. */
export const plainText = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, ' ').slice(0, 300)
