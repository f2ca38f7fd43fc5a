/** What the edges of the panels are called. */

export const sizes = {
  label: (panel: string) => `Size of ${panel}`,
  title: 'Drag to resize; double click for the size it has by itself',
  panels: {
    left: 'the left column',
    playground: 'the playground',
    inspector: 'the inspector',
    timeline: 'the timeline',
    queue: 'the free queue',
  },
} as const;
