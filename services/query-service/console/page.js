// The pages are whole without this: it adds the charts, the live tail of events, and a question before what cannot be undone.
{
  const all = (selector, within = document) => [...within.querySelectorAll(selector)]

  document.querySelector('.places [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })

  // A picture of another host takes the place of the initials once it is there.
  for (const image of all('img[data-picture]')) {
    const picture = new Image()
    picture.addEventListener('load', () => {
      image.src = picture.src
    })
    picture.referrerPolicy = 'no-referrer'
    picture.src = image.dataset.picture
  }

  for (const button of all('button.danger')) {
    let asked = false
    button.addEventListener('click', event => {
      if (asked) return
      event.preventDefault()
      asked = true
      const before = button.textContent
      button.textContent = 'Sure?'
      setTimeout(() => {
        asked = false
        button.textContent = before
      }, 4000)
    })
  }

  // The live tail asks for the newest rows and adds those that it does not have: what was committed late is found all the same.
  const tail = document.querySelector('#tail')
  const live = document.querySelector('#live')
  const news = document.querySelector('#news')
  const mostRows = 200
  const restMs = 2000
  if (tail?.dataset.address && live) {
    let isOn = true
    live.hidden = false
    const showState = () => {
      live.setAttribute('aria-pressed', String(isOn))
      live.textContent = isOn ? 'Live: pause' : 'Paused: go on'
    }
    live.addEventListener('click', () => {
      isOn = !isOn
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
      const fresh = rows.filter(row => !known.has(row.dataset.id))
      for (const row of fresh) row.classList.add('fresh')
      body.prepend(...fresh)
      for (const old of all('tr', body).slice(mostRows)) old.remove()
      if (fresh.length > 0) news.textContent = fresh.length === 1 ? '1 new event' : `${fresh.length} new events`
    }
    const look = async () => {
      if (isOn && !document.hidden) {
        try {
          const answer = await fetch(tail.dataset.address, { redirect: 'manual' })
          if (answer.type === 'opaqueredirect') return location.reload()
          if (answer.ok) add(await answer.text())
          else news.textContent = 'The service does not answer; trying again'
        } catch {
          news.textContent = 'The service does not answer; trying again'
        }
      }
      setTimeout(look, restMs)
    }
    setTimeout(look, restMs)
  }

  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

  const pointsOf = table =>
    all('tbody tr', table).map(row => ({ from: Number(row.dataset.from), to: Number(row.dataset.to), value: Number(row.dataset.value) }))

  const seriesOf = (kind, unit) => {
    const accent = colour('--accent')
    const paths = kind === 'steps' ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.bars({ size: [0.7, 40], align: 0 })
    const fill = kind === 'steps' ? `${accent}22` : `${accent}bb`
    return { label: unit, stroke: accent, width: kind === 'steps' ? 2 : 1, fill, paths, points: { show: false } }
  }

  const axis = values => ({
    stroke: colour('--soft'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 },
    font: '12px system-ui, sans-serif',
    ...values,
  })

  /** Ticks in the zone of the location: the day where one begins, else the time of day. */
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

  const draw = (figure, width) => {
    const points = pointsOf(document.getElementById(figure.dataset.of))
    const { kind, unit, zone } = figure.dataset
    const last = points.at(-1)
    const ends = kind === 'steps' ? [[last.to], [last.value]] : [[], []]
    const data = [points.map(({ from }) => from).concat(ends[0]), points.map(({ value }) => value).concat(ends[1])]
    const day = 86400
    const x = kind === 'bars' ? { range: () => [points[0].from - day * 0.7, last.from + day * 0.7] } : {}
    const zero = (_, low, high) => {
      const room = Math.max((high - Math.min(0, low)) * 0.08, 1e-9)
      return [low < 0 ? low - room : 0, Math.max(0, high) + room]
    }
    return new uPlot(
      {
        width,
        height: Math.round(Math.min(360, Math.max(220, width * 0.45))),
        tzDate: seconds => uPlot.tzDate(new Date(seconds * 1000), zone),
        scales: { x, y: { range: zero } },
        cursor: { y: false, points: { size: 7 } },
        series: [{ label: 'Time', value: momentIn(zone, kind) }, seriesOf(kind, unit)],
        axes: [axis({ space: 64, values: ticksIn(zone) }), axis({ size: 62 })],
        legend: { live: true },
      },
      data,
      figure,
    )
  }

  const figures = all('figure.chart')
  const plots = new Map()
  const drawAgain = figure => {
    plots.get(figure)?.destroy()
    figure.replaceChildren()
    plots.set(figure, draw(figure, Math.floor(figure.clientWidth)))
  }
  if (figures.length > 0 && typeof uPlot !== 'undefined') {
    const widths = new Map()
    const sizes = new ResizeObserver(entries => {
      for (const { target } of entries) {
        const width = Math.floor(target.clientWidth)
        if (widths.get(target) === width) continue
        widths.set(target, width)
        drawAgain(target)
      }
    })
    for (const figure of figures) sizes.observe(figure)
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      for (const figure of figures) drawAgain(figure)
    })
  }
}
