/** Lay out an answer with its ids and the times of its making blotted out, and everything else as it was written. */
export const goldenText = (text: string): string =>
  `${JSON.stringify(JSON.parse(text), null, 2)}\n`
    .replace(/\b([a-z]{3})_[0-9a-f]{24}\b/g, '$1_…')
    .replace(/("(?:time_created|last_seen)": )"[^"]+"/g, '$1"…"')
