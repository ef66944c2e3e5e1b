const ESCAPED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

class Markup {
  constructor(private readonly text: string) {}

  toString(): string {
    return this.text
  }
}

/** HTML that only `html` can make: its values are escaped. */
export type Html = Markup

export type HtmlValue = Html | string | number | boolean | null | undefined | readonly HtmlValue[]

/**
 * A template of HTML: it escapes every value, for text and for quoted attributes, except HTML that `html` itself
 * made. Lists are joined; `false` and `undefined` are nothing.
 */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Markup(String.raw({ raw: parts }, ...values.map(textOf)))
}

function textOf(value: HtmlValue): string {
  if (value === undefined || value === null || typeof value === 'boolean') return ''
  if (typeof value === 'object') return value instanceof Markup ? String(value) : value.map(textOf).join('')
  return String(value).replace(/[&<>"']/g, (character) => ESCAPED[character] ?? '')
}
