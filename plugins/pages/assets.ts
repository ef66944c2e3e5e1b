/** The style of the pages: system fonts and colours, so that dark mode and contrast settings hold. */
export const STYLE = `:root { color-scheme: light dark; --line: color-mix(in srgb, CanvasText 18%, Canvas);
  --soft: color-mix(in srgb, CanvasText 6%, Canvas); --quiet: color-mix(in srgb, CanvasText 68%, Canvas);
  --accent: light-dark(#0b57d0, #8ab4f8) }
* { box-sizing: border-box }
body { margin: 0; font: 1rem/1.5 system-ui, sans-serif; background: Canvas; color: CanvasText;
  overflow-wrap: anywhere }
header, main { max-width: 56rem; margin: 0 auto; padding: 1rem 1.25rem }
header { border-bottom: 1px solid var(--line); display: flex; flex-wrap: wrap; gap: .25rem 1rem;
  align-items: center; justify-content: space-between }
.account { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; min-width: 0 }
main:focus { outline: none }
a { color: var(--accent); text-underline-offset: .2em }
.home { font-weight: 600; color: inherit; text-decoration: none }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
.skip { position: absolute; left: -100vw }
.skip:focus { left: 1rem; top: .5rem; background: Canvas; padding: .25rem .5rem }
h1 { font-size: 1.6rem; margin: .5rem 0 }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem }
h3 { font-size: 1rem; margin: 1.25rem 0 .5rem }
p { margin: .35rem 0 }
.quiet { color: var(--quiet); font-size: .9rem }
.cards { list-style: none; margin: 1rem 0; padding: 0; display: grid; gap: .75rem;
  grid-template-columns: minmax(0, 1fr) }
.cards li { border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem }
.links, .versions { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem }
.history { padding-left: 1.25rem }
.links li, .versions li { min-width: 0 }
.badge { border: 1px solid var(--line); border-radius: 1rem; padding: 0 .6rem; font-size: .8rem }
.search { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: 1rem 0 }
input, button, .button { font: inherit; padding: .4rem .7rem; border: 1px solid var(--line); border-radius: .4rem;
  background: var(--soft); color: inherit }
.search input { flex: 1 1 14rem }
button { cursor: pointer }
.button { display: inline-block; text-decoration: none }
.hint { border-left: 4px solid var(--accent); padding-left: 1rem }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0 }
summary { padding: .5rem 1rem; cursor: pointer }
.snippet { position: relative }
.copy { position: absolute; top: .5rem; right: .5rem }
pre { margin: 0; padding: 1rem; overflow-x: auto; background: var(--soft); font-size: .875rem }
@media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth } }
`

/** Copy buttons, and "/" for the search field. Without it everything else still works. */
export const SCRIPT = `'use strict'
for (const button of document.querySelectorAll('button[data-copy]')) {
  const block = document.getElementById(button.dataset.copy)
  button.hidden = false
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(block.textContent)
      button.textContent = 'Copied'
    } catch {
      getSelection().selectAllChildren(block)
      button.textContent = 'Selected'
    }
    setTimeout(() => { button.textContent = 'Copy' }, 2000)
  })
}
const search = document.getElementById('search')
document.addEventListener('keydown', (event) => {
  const plain = !event.ctrlKey && !event.metaKey && !event.altKey
  if (event.key !== '/' || !plain || search === null || event.target.matches('input')) return
  event.preventDefault()
  search.focus()
})
`

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#0b57d0"/><path d="M8 25V14a8 8 0 0 1 16 0v11M16 8v17M8 17h16" fill="none" stroke="#fff" stroke-width="2.5"/></svg>`
