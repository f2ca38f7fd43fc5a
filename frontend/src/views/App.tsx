/** The whole page: the list of sessions, or one of them. */

import { useEffect } from 'preact/hooks';
import { isEmbedded } from '../store/embedded';
import { left } from '../store/layout';
import { isLive } from '../store/ledger';
import { current, lookForNewcomer } from '../store/sessions';
import { sizeStyle } from '../store/sizes';
import { text } from '../text';
import { Bar } from './Bar';
import { Breakpoints } from './Breakpoints';
import { Caption } from './Caption';
import { Centre } from './Centre';
import { CommandPalette } from './CommandPalette';
import { Footer } from './Footer';
import { Inspector } from './Inspector';
import { KeysOverlay } from './KeysOverlay';
import { Left } from './Left';
import { RecordedBreakpoints } from './RecordedBreakpoints';
import { Sessions } from './Sessions';
import { ShareField } from './ShareField';
import { Alarm, Banners, Cover, NoRecording } from './Stage';
import { TokenCard } from './TokenCard';
import { Tour } from './Tour';
import { Timeline } from './timeline/Timeline';

export function App() {
  const name = current.value?.name;
  useEffect(() => {
    document.title = name ? `${name} · ${text.product}` : text.product;
  }, [name]);
  const finished = current.value !== null && !isLive.value;
  useEffect(() => {
    if (!finished || isEmbedded) return;
    const timer = setInterval(() => void lookForNewcomer(), 5000);
    return () => clearInterval(timer);
  }, [finished]);
  if (current.value === null && isEmbedded) return <NoRecording />;
  if (current.value === null) {
    return (
      <>
        <Sessions />
        <KeysOverlay />
        <CommandPalette />
      </>
    );
  }
  return (
    <div class="page" style={sizeStyle.value}>
      <Bar />
      <div class="banners">
        <Alarm />
        <Banners />
        <Caption />
      </div>
      <main class={`work${left.value === 'playground' ? ' writing' : ''}`}>
        <Left />
        <Centre />
        <Inspector />
        <Cover />
      </main>
      <Timeline />
      <Footer />
      <TokenCard />
      <KeysOverlay />
      <CommandPalette />
      <ShareField />
      <Breakpoints />
      <RecordedBreakpoints />
      <Tour />
    </div>
  );
}
