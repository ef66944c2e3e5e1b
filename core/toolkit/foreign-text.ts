/** The part of an error code from another party that may be shown and logged. */
export const plainCode = (code: string): string => code.replaceAll(/[^\w.-]/g, '').slice(0, 60)

/** The same for any other text. */
export const plainText = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, ' ').slice(0, 300)

/**
 * The same without anything that may be a token or a code, which is longer than a word. It is removed before the
 * cut: the end of a token may be shorter.
 */
export const plainWords = (text: string): string => plainText(text.replaceAll(/\S{20,}/g, '...'))
