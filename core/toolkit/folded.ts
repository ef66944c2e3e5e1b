/**
 * A text in the form that all texts that differ only by case share: the JSON of Go folds U+017F and U+212A too. Only
 * upper case turns the former into its letter, and only lower case the latter, so upper case comes first.
 */
export const folded = (text: string): string => text.toUpperCase().toLowerCase()
