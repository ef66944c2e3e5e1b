// The suite checks only the type of these: a picture of one pixel, and a sound without length.
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
export const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA='

export const words = (text: string) => ({ type: 'text' as const, text })
export const said = (text: string) => ({ content: [words(text)] })
