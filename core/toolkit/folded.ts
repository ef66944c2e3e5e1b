/**
 * A text as others have it that differ by case: Go's JSON folds U+017F and U+212A too. Upper case first: only so the former
 * becomes the letter that it stands for, and only by lower case the latter.
 */
export const folded = (text: string): string => text.toUpperCase().toLowerCase()
