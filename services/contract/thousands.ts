/** A number as people write it, 10000 as "10,000", without the tables of languages that the engine's own formats load first. */
export const thousands = (value: number): string => String(value).replace(/\B(?=(?:\d{3})+$)/g, ',')
