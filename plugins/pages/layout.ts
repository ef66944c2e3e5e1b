import { type Html, html } from 'sallyport/toolkit'

/** A whole page. `account` says who is signed in, or where to sign in. */
export function page(base: string, title: string, content: Html, account?: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" type="image/svg+xml" href="${base}/assets/icon.svg">
<link rel="stylesheet" href="${base}/assets/browse.css">
<script src="${base}/assets/browse.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header><a class="home" href="${base}/">MCP registry</a>${account}</header>
<main id="content" tabindex="-1">${content}</main>
</body>
</html>
`
}
