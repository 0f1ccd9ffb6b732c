// Adds the service address, copy buttons, the filter, the menu on small screens and the current section.
{
  const all = (selector, within = document) => [...within.querySelectorAll(selector)]
  const root = document.documentElement
  root.classList.add('scripted')

  const base = location.origin + location.pathname.replace(/\/docs(\/.*)?$|\/$/, '')
  for (const baseElement of all('.base')) baseElement.textContent = base

  if (navigator.clipboard) {
    for (const button of all('.copy')) {
      button.hidden = false
      button.addEventListener('click', async () => {
        await navigator.clipboard.writeText(button.closest('figure').querySelector('pre').textContent)
        button.textContent = 'Copied'
        setTimeout(() => {
          button.textContent = 'Copy'
        }, 1500)
      })
    }
  }

  const side = document.querySelector('#side')
  const menu = document.querySelector('#menu')
  const showMenu = shown => {
    menu?.setAttribute('aria-expanded', String(shown))
    side?.classList.toggle('open', shown)
  }
  menu?.addEventListener('click', () => showMenu(menu.getAttribute('aria-expanded') !== 'true'))

  const filter = document.querySelector('#filter')
  const searchField = filter ?? document.querySelector('#search')
  const found = document.querySelector('#found')
  const links = side === null ? [] : all('nav a', side)
  const applyFilter = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean)
    let shown = 0
    for (const link of links) {
      const matches = words.every(word => link.dataset.words.includes(word))
      link.parentElement.hidden = !matches
      if (matches) shown += 1
    }
    for (const group of all('nav section', side)) group.hidden = all('li:not([hidden])', group).length === 0
    found.textContent =
      words.length === 0 ? '' : shown === 0 ? 'No matches' : shown === 1 ? '1 entry' : `${shown} entries`
  }
  filter?.addEventListener('input', applyFilter)
  filter?.addEventListener('keydown', event => {
    if (event.key === 'Escape') {
      filter.value = ''
      applyFilter()
    }
    if (event.key === 'Enter') links.find(link => !link.parentElement.hidden)?.click()
  })
  document.addEventListener('keydown', event => {
    const isTyping = event.target.closest?.('input, textarea')
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey || searchField === null) return
    event.preventDefault()
    showMenu(true)
    searchField.focus()
  })
  side?.addEventListener('click', event => {
    if (event.target.closest('nav a')) showMenu(false)
  })
  for (const link of all('.layouts a')) {
    link.addEventListener('click', () => {
      link.hash = location.hash
    })
  }

  const sections = all('main [id]').filter(one => one.matches('section'))
  const linkOf = new Map(links.map(link => [link.hash.slice(1), link]))
  let markedLink = null
  const markCurrentSection = () => {
    const sectionsAbove = sections.filter(section => section.getBoundingClientRect().top <= 140)
    const link = linkOf.get((sectionsAbove.at(-1) ?? sections[0])?.id)
    if (link === undefined || link === markedLink) return
    markedLink?.removeAttribute('aria-current')
    link.setAttribute('aria-current', 'location')
    markedLink = link
    const linkBox = link.getBoundingClientRect()
    const sideBox = side.getBoundingClientRect()
    if (linkBox.top < sideBox.top + 160 || linkBox.bottom > sideBox.bottom)
      side.scrollTop += linkBox.top - sideBox.top - sideBox.height / 2
  }
  let isScheduled = false
  const scheduleMark = () => {
    if (isScheduled) return
    isScheduled = true
    requestAnimationFrame(() => {
      isScheduled = false
      markCurrentSection()
    })
  }
  if (links.length > 0) {
    addEventListener('scroll', scheduleMark, { passive: true })
    addEventListener('hashchange', scheduleMark)
    markCurrentSection()
  }
}
