/** Address of a public building. */
export type DemoAddress = {
  readonly address_line1: string
  readonly city: string
  readonly post_code: string
  readonly country_code: string
}

const at = (country_code: string, post_code: string, city: string, address_line1: string): DemoAddress => ({
  address_line1,
  city,
  post_code,
  country_code,
})

/** Addresses in Germany. */
export const germanAddresses: readonly DemoAddress[] = [
  at('DE', '10117', 'Berlin', 'Pariser Platz 1'),
  at('DE', '80331', 'München', 'Marienplatz 8'),
  at('DE', '20095', 'Hamburg', 'Rathausmarkt 1'),
  at('DE', '50667', 'Köln', 'Domkloster 4'),
  at('DE', '60311', 'Frankfurt am Main', 'Römerberg 23'),
  at('DE', '70173', 'Stuttgart', 'Marktplatz 1'),
  at('DE', '04109', 'Leipzig', 'Martin-Luther-Ring 4'),
  at('DE', '01067', 'Dresden', 'Theaterplatz 2'),
  at('DE', '90403', 'Nürnberg', 'Rathausplatz 2'),
  at('DE', '28195', 'Bremen', 'Am Markt 21'),
]

/** Addresses in the United Kingdom. */
export const britishAddresses: readonly DemoAddress[] = [
  at('GB', 'M2 5DB', 'Manchester', 'Albert Square 1'),
  at('GB', 'LS1 1UR', 'Leeds', 'The Headrow 1'),
  at('GB', 'B1 1BB', 'Birmingham', 'Victoria Square 1'),
  at('GB', 'BS1 5TR', 'Bristol', 'College Green 1'),
  at('GB', 'L2 2DH', 'Liverpool', 'Dale Street 1'),
  at('GB', 'S1 2HH', 'Sheffield', 'Pinstone Street 1'),
]

/** Addresses in Norway. */
export const norwegianAddresses: readonly DemoAddress[] = [
  at('NO', '0037', 'Oslo', 'Rådhusplassen 1'),
  at('NO', '5014', 'Bergen', 'Rådhusgaten 10'),
  at('NO', '7011', 'Trondheim', 'Munkegata 1'),
  at('NO', '4006', 'Stavanger', 'Øvre Kleivegate 15'),
]

/** Addresses in Denmark. */
export const danishAddresses: readonly DemoAddress[] = [
  at('DK', '8000', 'Aarhus', 'Rådhuspladsen 2'),
  at('DK', '5000', 'Odense', 'Flakhaven 2'),
]
