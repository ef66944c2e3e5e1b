import { html } from 'hono/html'

/** A piece of a page. Texts that are put into one are escaped on the way. */
export type Html = ReturnType<typeof html>

/** What every page has around it. */
export function page(base: string, title: string, content: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="stylesheet" href="${base}/assets/people.css">
<script src="${base}/assets/people.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header><a class="home" href="${base}/">MCP registry</a></header>
<main id="content" tabindex="-1">${content}</main>
</body>
</html>
`
}
