/** Format an answer for a golden file. Ids and creation times become "…"; all other values stay. */
export const goldenText = (text: string): string =>
  `${JSON.stringify(JSON.parse(text), null, 2)}\n`
    .replace(/\b([a-z]{3})_[0-9a-f]{24}\b/g, '$1_…')
    .replace(/("(?:time_created|time_received|last_seen)": )"[^"]+"/g, '$1"…"')
