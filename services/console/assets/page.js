// Adds charts, the live list of events, the answer of an import and the key of the search. The pages also work without this script.
{
  const all = (selector, within = document) => [...within.querySelectorAll(selector)]

  // A logo replaces the initials after it has loaded.
  for (const image of all('img[data-picture]')) {
    const picture = new Image()
    picture.addEventListener('load', () => {
      image.src = picture.src
    })
    picture.referrerPolicy = 'no-referrer'
    picture.src = image.dataset.picture
  }

  const find = document.querySelector('.find input')
  document.addEventListener('keydown', event => {
    const isTyping = event.target.closest('input, textarea, select, [contenteditable]') !== null
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey || find === null) return
    event.preventDefault()
    find.focus()
    find.select()
  })

  // Parts of a page that take longer are loaded after the page.
  for (const part of all('[data-load]')) {
    fetch(part.dataset.load, { redirect: 'manual' })
      .then(async answer => {
        if (answer.ok) part.innerHTML = await answer.text()
      })
      .catch(() => undefined)
  }

  // Show the answer of an import in the page of its form, so that the browser keeps the chosen file.
  const upload = document.querySelector('form[data-part]')
  if (upload) {
    const part = document.getElementById(upload.dataset.part)
    const show = async answer => {
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
      let text = ''
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        text += next.value
        if (answer.ok) part.innerHTML = text
      }
      if (!answer.ok)
        part.innerHTML = new DOMParser().parseFromString(text, 'text/html').querySelector('main')?.innerHTML ?? ''
    }
    upload.addEventListener('submit', async event => {
      event.preventDefault()
      const body = new FormData(upload, event.submitter)
      const buttons = all('button[type=submit]', upload)
      for (const button of buttons) button.disabled = true
      part.textContent = 'The file is on its way…'
      try {
        const headers = { 'X-Part': upload.dataset.part }
        const answer = await fetch(upload.action, { method: 'POST', body, headers, redirect: 'manual' })
        if (answer.type === 'opaqueredirect') return location.reload()
        await show(answer)
        // The preview proposes options that the form does not have.
        for (const { dataset, value } of all('[data-fill]', part)) upload.elements[dataset.fill].value = value
      } catch {
        const text = 'The connection ended. Readings that were sent are stored. Send the file again: each counts once.'
        part.insertAdjacentHTML('beforeend', `<p class="notice bad">${text}</p>`)
      }
      for (const button of buttons) button.disabled = false
    })
    upload.addEventListener('dragover', event => event.preventDefault())
    upload.addEventListener('drop', event => {
      event.preventDefault()
      if (event.dataTransfer.files.length === 0) return
      upload.elements.file.files = event.dataTransfer.files
      upload.requestSubmit(upload.querySelector('button[value=preview]'))
    })
  }

  // Poll the newest rows and add the unknown ones. Events that are committed late are found too.
  const tail = document.querySelector('#tail')
  const live = document.querySelector('#live')
  const news = document.querySelector('#news')
  const maxRows = 200
  const pollMs = 2000
  if (tail?.dataset.address && live) {
    let isLive = true
    live.hidden = false
    const showState = () => {
      live.setAttribute('aria-pressed', String(isLive))
      live.textContent = isLive ? 'Pause' : 'Resume'
    }
    live.addEventListener('click', () => {
      isLive = !isLive
      showState()
    })
    showState()
    const add = text => {
      const body = tail.querySelector('tbody')
      const template = document.createElement('template')
      template.innerHTML = `<table><tbody>${text}</tbody></table>`
      const rows = all('tr', template.content)
      if (body === null) {
        if (rows.length > 0) location.reload()
        return
      }
      const known = new Set(all('tr', body).map(row => row.dataset.id))
      const newRows = rows.filter(row => !known.has(row.dataset.id))
      for (const row of newRows) row.classList.add('fresh')
      body.prepend(...newRows)
      for (const oldRow of all('tr', body).slice(maxRows)) oldRow.remove()
      if (newRows.length > 0) news.textContent = newRows.length === 1 ? '1 new event' : `${newRows.length} new events`
    }
    const poll = async () => {
      if (isLive && !document.hidden) {
        try {
          const answer = await fetch(tail.dataset.address, { redirect: 'manual' })
          if (answer.type === 'opaqueredirect') return location.reload()
          if (answer.ok) add(await answer.text())
          else news.textContent = 'The service does not answer. Retrying…'
        } catch {
          news.textContent = 'The service does not answer. Retrying…'
        }
      }
      setTimeout(poll, pollMs)
    }
    setTimeout(poll, pollMs)
  }

  const cssColor = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

  const pointsOf = table =>
    all('tbody tr', table).map(row => ({
      from: Number(row.dataset.from),
      to: Number(row.dataset.to),
      value: Number(row.dataset.value),
    }))

  const seriesOf = (kind, unit) => {
    const accent = cssColor('--accent')
    const paths = kind === 'steps' ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.bars({ size: [0.7, 40], align: 0 })
    const fill = kind === 'steps' ? `${accent}22` : `${accent}bb`
    return { label: unit, stroke: accent, width: kind === 'steps' ? 2 : 1, fill, paths, points: { show: false } }
  }

  const axisOptions = values => ({
    stroke: cssColor('--soft'),
    grid: { stroke: cssColor('--line'), width: 1 },
    ticks: { stroke: cssColor('--line'), width: 1 },
    font: '12px system-ui, sans-serif',
    ...values,
  })

  /** Tick labels in the zone of the location: the date at midnight, else the time of day. */
  const ticksIn = zone => {
    const day = new Intl.DateTimeFormat('en-GB', { timeZone: zone, day: 'numeric', month: 'short' })
    const time = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit' })
    return (_, splits) =>
      splits.map(seconds => {
        const at = new Date(seconds * 1000)
        const clock = time.format(at)
        return clock === '00:00' ? day.format(at) : clock
      })
  }

  const momentIn = (zone, kind) => {
    const clock = kind === 'bars' ? {} : { hour: '2-digit', minute: '2-digit' }
    const format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, day: 'numeric', month: 'short', ...clock })
    return (_, seconds) => (seconds === null ? '--' : format.format(new Date(seconds * 1000)))
  }

  const drawChart = (figure, width) => {
    const points = pointsOf(document.getElementById(figure.dataset.of))
    const { kind, unit, zone } = figure.dataset
    const last = points.at(-1)
    const lastStep = kind === 'steps' ? [[last.to], [last.value]] : [[], []]
    const data = [
      points.map(({ from }) => from).concat(lastStep[0]),
      points.map(({ value }) => value).concat(lastStep[1]),
    ]
    const day = 86400
    const x = kind === 'bars' ? { range: () => [points[0].from - day * 0.7, last.from + day * 0.7] } : {}
    const rangeWithZero = (_, low, high) => {
      const margin = Math.max((high - Math.min(0, low)) * 0.08, 1e-9)
      return [low < 0 ? low - margin : 0, Math.max(0, high) + margin]
    }
    return new uPlot(
      {
        width,
        height: Math.round(Math.min(360, Math.max(220, width * 0.45))),
        tzDate: seconds => uPlot.tzDate(new Date(seconds * 1000), zone),
        scales: { x, y: { range: rangeWithZero } },
        cursor: { y: false, points: { size: 7 } },
        series: [{ label: 'Time', value: momentIn(zone, kind) }, seriesOf(kind, unit)],
        axes: [axisOptions({ space: 64, values: ticksIn(zone) }), axisOptions({ size: 62 })],
        legend: { live: true },
      },
      data,
      figure,
    )
  }

  const figures = all('figure.chart')
  const plots = new Map()
  const redraw = figure => {
    plots.get(figure)?.destroy()
    figure.replaceChildren()
    plots.set(figure, drawChart(figure, Math.floor(figure.clientWidth)))
  }
  if (figures.length > 0 && typeof uPlot !== 'undefined') {
    const widths = new Map()
    const sizes = new ResizeObserver(entries => {
      for (const { target } of entries) {
        const width = Math.floor(target.clientWidth)
        if (widths.get(target) === width) continue
        widths.set(target, width)
        redraw(target)
      }
    })
    for (const figure of figures) sizes.observe(figure)
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      for (const figure of figures) redraw(figure)
    })
  }
}
